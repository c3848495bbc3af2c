// Control, format and separator characters, which a terminal might obey or a reader not see; and halves of characters.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** A text that users of the application chose, for a terminal: what isn't to be seen is written as `\u{…}`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}
