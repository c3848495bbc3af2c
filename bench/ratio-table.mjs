/** Prints the results of `compare` and `compareWaiting` as a plain text table. */
export function printRatios({ title, sides, results }) {
  printTable(title, [
    ['', ...sides, 'ratio', 'lowest', 'highest', 'bar', ''],
    ...results.map((result) => [
      result.name,
      microseconds(result.baseMicroseconds),
      microseconds(result.subjectMicroseconds),
      result.ratio.toFixed(2),
      result.lowest.toFixed(2),
      result.highest.toFixed(2),
      barText(result.bar),
      result.missed ? 'missed' : '',
    ]),
  ])
}

/** Prints the final table: rows `{ name, ratio, bar, ok }` of all benchmarks that ran. */
export function printSummary(rows) {
  printTable('All ratios of this run. The method of each is printed above its own table.', [
    ['', 'ratio', 'bar', ''],
    ...rows.map(({ name, ratio, bar, ok }) => [name, ratio.toFixed(2), barText(bar), ok ? '' : 'missed']),
  ])
}

/** Prints the sizes of a loaded database. */
export function printSizes(loadingSeconds, sizes) {
  printTable(`Sizes, after ${loadingSeconds.toFixed(0)} s of loading`, [
    ['', 'entries', 'MB', 'bytes per entry'],
    ...sizes.map((size) => [
      size.name,
      Math.round(size.entries).toLocaleString('en'),
      size.megabytes.toFixed(1),
      size.bytesPerEntry.toFixed(1),
    ]),
  ])
}

/** Prints a table. The first line holds the column headers. All columns but the first are right-aligned. */
export function printTable(title, lines) {
  const widths = lines[0].map((_, column) => Math.max(...lines.map((cells) => cells[column].length)))
  console.log(title)
  for (const cells of lines) {
    const padded = cells.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]),
    )
    console.log(padded.join('  ').trimEnd())
  }
  console.log('')
}

export function barText({ most = null, least = null }) {
  if (most !== null) return `<= ${most}`
  return least === null ? '' : `>= ${least}`
}

function microseconds(number) {
  return number < 100 ? number.toFixed(1) : number.toFixed(0)
}
