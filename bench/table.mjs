/** Prints the results of `compare` as a table of plain text. */
export function printTable({ title, sides, results }) {
  const header = ['', ...sides, 'ratio', 'lowest', 'highest', 'bar']
  const lines = results.map((result) => [
    result.name,
    micro(result.baseMicroseconds),
    micro(result.subjectMicroseconds),
    result.ratio.toFixed(2),
    result.lowest.toFixed(2),
    result.highest.toFixed(2),
    result.bar === null ? '' : `<= ${result.bar}`,
  ])
  const widths = header.map((_, column) =>
    Math.max(...[header, ...lines].map((cells) => cells[column].length)),
  )
  console.log(title)
  for (const cells of [header, ...lines]) {
    const padded = cells.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]),
    )
    console.log(padded.join('  ').trimEnd())
  }
  console.log('')
}

function micro(microseconds) {
  return microseconds < 100 ? microseconds.toFixed(2) : microseconds.toFixed(0)
}
