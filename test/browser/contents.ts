import fc from 'fast-check'

export const PART = 8 * 1024 ** 2
const PARTS = 6
/** The last part is small. Four are read at once, and the others once one of these has arrived. */
export const SIZE = (PARTS - 1) * PART + 3

/** What a file holds. All have the same size. */
export interface Content {
  /** What each part is filled with. */
  readonly fills: readonly number[]
  /** Where a byte differs. */
  readonly edit: number
}

export const content = fc.record<Content>({
  fills: fc.array(fc.constantFrom(0, 1), { minLength: PARTS, maxLength: PARTS }),
  edit: fc.oneof(fc.nat(SIZE - 1), fc.constantFrom(0, PART - 1, PART, SIZE - 1)),
})

/** A call that a reload cuts off while these parts are on their way, and the others have arrived. */
export const cutOff = fc.record({
  content,
  held: fc.subarray([0, 1, 2], { minLength: 1, maxLength: 2 }),
})

export function bytesOf({ fills, edit }: Content): Uint8Array {
  // A `Buffer` would refuse what is beyond its end.
  const bytes = new Uint8Array(SIZE)
  for (const [index, fill] of fills.entries()) bytes.fill(fill, index * PART, (index + 1) * PART)
  bytes[edit] = 9
  return bytes
}
