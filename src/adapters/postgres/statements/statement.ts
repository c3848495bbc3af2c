import type { Statement } from '../connection/database.js'
import { inSchema, type SchemaName } from '../schema/schema-name.js'

/**
 * A statement with its name. The name follows from the text, so that adapters over other schemas, and other versions of
 * the library, can share a connection.
 */
export function statement(name: string, text: string, schema: SchemaName): Statement {
  const complete = inSchema(text, schema)
  return { name: `svc_db_${name}_${fingerprint(complete)}`, text: complete }
}

/** 64 bits of FNV-1a. */
function fingerprint(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  }
  return hash.toString(36)
}
