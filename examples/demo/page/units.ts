const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** Formats a size in decimal units, such as `3.2 MB`. */
export function inUnits(bytes: number): string {
  let amount = bytes
  let step = 0
  while (amount >= 999.5 && step < UNITS.length - 1) {
    amount /= 1000
    step += 1
  }
  return new Intl.NumberFormat('en', {
    style: 'unit',
    unit: UNITS[step] ?? 'byte',
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: amount < 100 && step > 1 ? 1 : 0,
  }).format(amount)
}

/** Formats a duration, such as `3 minutes`. */
export function duration(seconds: number): string {
  const isShort = seconds < 90
  return new Intl.NumberFormat('en', {
    style: 'unit',
    unit: isShort ? 'second' : 'minute',
    unitDisplay: 'long',
  }).format(isShort ? seconds : Math.round(seconds / 60))
}

export function files(count: number): string {
  return count === 1 ? '1 file' : `${count} files`
}

/** Formats a point in time: the time of day if it is today, otherwise the date. */
export function when(iso: string): string {
  const date = new Date(iso)
  const today = new Date().toDateString() === date.toDateString()
  return new Intl.DateTimeFormat('en', today ? { timeStyle: 'short' } : { dateStyle: 'medium' }).format(date)
}
