/** The code units whose order differs from that of UTF-8: surrogates, which belong after all others, and those above them. */
const OUT_OF_ORDER = /[\ud800-\uffff]/

/**
 * Returns a sort key of a well-formed text. Sort keys compare by UTF-16 code units as their texts compare by bytes of UTF-8.
 * The sort key of a text starts with that of each prefix.
 */
export function utf8Order(text: string): string {
  if (!OUT_OF_ORDER.test(text)) return text
  let sorted = ''
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    sorted += String.fromCharCode(unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)
  }
  return sorted
}

/** Greater than the sort key of any text: no text starts with a low surrogate. */
export const END_OF_ORDER = '\uffff'
