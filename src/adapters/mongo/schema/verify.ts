import type { Call } from '../connection/patience.js'
import type { Place } from '../connection/place.js'
import { describeFlaw, indexFlaws } from './found-indexes.js'
import { collectionFlaws, serverFlaw } from './requirements.js'
import { readState, THIS_VERSION, tooNew } from './state.js'

/**
 * What keeps this code from working on the collections as they are, in sentences for an operator; empty: nothing. What is
 * there beside them is nobody's business. Of newer code's indexes nothing is known here.
 */
export async function verify(place: Place, call: Call): Promise<string[]> {
  const findings = [await serverFlaw(place)].filter((flaw) => flaw !== null)
  const state = await readState(place, call)
  const names = place.schema.collectionName
  if (state.version === 0) return [...findings, `There is no version in ${names}: run migrate().`]
  const refusal = tooNew(state)
  if (refusal !== null) findings.push(refusal)
  findings.push(...(await collectionFlaws(place)))
  if (state.version <= THIS_VERSION.version) findings.push(...(await indexFlaws(place)).map(describeFlaw))
  return findings
}
