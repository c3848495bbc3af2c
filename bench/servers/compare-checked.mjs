import { compareWaiting } from './compare-waiting.mjs'
import { checkedUpload, upload } from './store-calls.mjs'

/** The title of these lines, and of their sides. */
export const CHECKED = [
  'A checked upload, accepted, compared with one without a check',
  ['unchecked', 'checked'],
]

/** Compares reserve + confirm + accept with reserve + confirm. Each caller has its own scope. */
export async function compareChecked(stores, rounds) {
  const results = []
  for (const { store, callers, least = 0.6 } of stores) {
    results.push(
      await compareWaiting({
        name: callers === 1 ? '1 caller' : `${callers} callers`,
        base: (caller) => upload(store, `user:caller-${caller}`),
        subject: (caller) => checkedUpload(store, `user:caller-${caller}`),
        bar: { least },
        callers,
        rounds,
      }),
    )
  }
  return results
}
