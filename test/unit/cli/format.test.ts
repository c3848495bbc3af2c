import { expect, it } from 'vitest'
import { bytes, exactBytes } from '../../../src/cli/format.js'

it.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1,023 bytes'],
  [1024, '1.0 KiB'],
  [10_240, '10 KiB'],
  [1024 ** 2 - 1, '1.0 MiB'],
  [1_610_612_736, '1.5 GiB'],
  [Number.MAX_SAFE_INTEGER, '8.0 PiB'],
])('formats %d bytes as %s', (value, text) => {
  expect(bytes(value)).toBe(text)
})

it('adds the exact number to a rounded one', () => {
  expect(exactBytes(500)).toBe('500 bytes')
  expect(exactBytes(1_610_612_736)).toBe('1.5 GiB (1,610,612,736 bytes)')
})
