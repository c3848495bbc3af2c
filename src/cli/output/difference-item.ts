import type { UsageDifference } from '../../index.js'
import type { Item } from './output.js'
import { printable } from './printable.js'
import { usageText } from './usage-text.js'

/** A scope whose counters differ from its rows. */
export function differenceItem(difference: UsageDifference): Item {
  const { scope, recorded, actual } = difference
  const lines = [
    printable(scope),
    ...usageText(recorded).map((line) => `counters: ${line}`),
    ...usageText(actual).map((line) => `rows:     ${line}`),
  ]
  return { json: difference, text: lines.join('\n  ') }
}
