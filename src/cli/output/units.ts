const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const
const STEP = 1024

const whole = new Intl.NumberFormat('en-US')

/** With commas between thousands. */
export function count(value: number): string {
  return whole.format(value)
}

/** `1 file`, `2 files`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** For a reader: three digits or so. */
export function bytes(value: number): string {
  if (value < STEP) return counted(value, 'byte')
  let amount = value / STEP
  let unit = 0
  // What would be written as 1024 is one of the next unit.
  while (Math.round(amount) >= STEP && unit < UNITS.length - 1) {
    amount /= STEP
    unit++
  }
  return `${amount < 10 ? amount.toFixed(1) : count(Math.round(amount))} ${UNITS[unit]}`
}

/** For a reader, and to the byte. */
export function exactBytes(value: number): string {
  return value < STEP ? bytes(value) : `${bytes(value)} (${counted(value, 'byte')})`
}
