// Control, format and separator characters, which a terminal or a log interprets or hides, and lone surrogates.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** Escapes unprintable characters as `\u{…}`, to keep what users send from controlling a terminal or beginning a line of a log. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}
