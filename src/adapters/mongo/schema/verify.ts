import type { Call } from '../connection/deadline.js'
import type { Namespace } from '../connection/namespace.js'
import { describeDifference, indexDifferences } from './index-differences.js'
import { neededCollections } from './indexes.js'
import { collectionFlaws, serverFlaw, shardingFlaws } from './requirements.js'
import { readState, SCHEMA_VERSION, tooNew } from './version.js'

/**
 * Returns what keeps this code from using the collections, in sentences for an operator; an empty list if nothing does.
 * Other collections and indexes are ignored, and so are all indexes if newer code has migrated the collections.
 */
export async function verify(namespace: Namespace, call: Call): Promise<string[]> {
  const findings = [await serverFlaw(namespace)].filter((flaw) => flaw !== null)
  const state = await readState(namespace, call)
  if (state.version === 0) {
    return [...findings, `${namespace.schema.collectionName} has no schema version: run migrate().`]
  }
  const refusal = tooNew(state)
  if (refusal !== null) findings.push(refusal)
  findings.push(...(await collectionFlaws(namespace)), ...(await shardingFlaws(namespace)))
  if (state.version <= SCHEMA_VERSION) {
    findings.push(
      ...(await indexDifferences(namespace, neededCollections(state.events))).map(describeDifference),
    )
  }
  return findings
}
