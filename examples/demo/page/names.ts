/** Control characters. Some reverse the text after them, so that `photo<U+202E>gnp.exe` would read as `photoexe.png`. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Returns a filename as the page shows it, with each control character as a visible mark. */
export function shownName(name: string): string {
  return name.replace(CONTROLS, '\ufffd')
}

/** Returns a filename in quotes for a sentence. A name in right-to-left script doesn't reorder the sentence. */
export function quoted(name: string): string {
  return `“\u2068${shownName(name)}\u2069”`
}

/** Shows a filename as the text of an element, and in full when the pointer rests on it. */
export function showName(element: HTMLElement, name: string): void {
  element.dir = 'auto'
  element.textContent = element.title = shownName(name)
}
