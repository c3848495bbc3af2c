import type { ScopeUsage } from '../index.js'

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const
const STEP = 1024

const whole = new Intl.NumberFormat('en-US')

/** Formats a number with thousands separators. */
export function count(value: number): string {
  return whole.format(value)
}

/** Returns `1 file` or `2 files`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** Formats a size, rounded to two or three digits. */
export function bytes(value: number): string {
  if (value < STEP) return counted(value, 'byte')
  let amount = value / STEP
  let unit = 0
  // Rounds up to the next unit instead of printing 1024.
  while (Math.round(amount) >= STEP && unit < UNITS.length - 1) {
    amount /= STEP
    unit++
  }
  return `${amount < 10 ? amount.toFixed(1) : count(Math.round(amount))} ${UNITS[unit]}`
}

/** Formats a size as a rounded and as an exact number. */
export function exactBytes(value: number): string {
  return value < STEP ? bytes(value) : `${bytes(value)} (${counted(value, 'byte')})`
}

export function usageText({
  bytes,
  files,
  reservedBytes,
  reservedFiles,
}: ScopeUsage): readonly [string, string] {
  return [
    `stored    ${exactBytes(bytes)} in ${counted(files, 'file')}`,
    `reserved  ${exactBytes(reservedBytes)} in ${counted(reservedFiles, 'new file')}`,
  ]
}

const PLAIN = /^[\w@%+=:,./-]+$/
const UNPRINTABLE_IN_SHELL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/** Returns a text as one argument of a command for a POSIX shell. Unprintable characters become escapes, which bash and zsh know. */
export function shellQuoted(text: string): string {
  if (PLAIN.test(text)) return text
  if (!UNPRINTABLE_IN_SHELL.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`
  const characters = Array.from(text, (character) =>
    UNPRINTABLE_IN_SHELL.test(character)
      ? [...new TextEncoder().encode(character)]
          .map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`)
          .join('')
      : character.replace(/['\\]/, '\\$&'),
  )
  return `$'${characters.join('')}'`
}
