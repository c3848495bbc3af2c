/** Returns whether a ratio misses its bar, which is `{ most }`, `{ least }` or empty. */
export function misses(ratio, { most, least }) {
  return ratio > (most ?? Infinity) || ratio < (least ?? -Infinity)
}

export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[sorted.length >> 1]
}
