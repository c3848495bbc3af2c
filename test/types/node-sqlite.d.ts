/** What tests and pages use of `node:sqlite`, which the types of Node 20 lack. */
declare module 'node:sqlite' {
  type Value = null | number | bigint | string | Uint8Array

  export interface DatabaseSyncOptions {
    readonly readOnly?: boolean
    readonly timeout?: number
    readonly readBigInts?: boolean
    readonly returnArrays?: boolean
  }

  export class DatabaseSync {
    constructor(path: string, options?: DatabaseSyncOptions)
    exec(sql: string): void
    prepare(sql: string): StatementSync
    close(): void
    readonly isTransaction: boolean
  }

  export class StatementSync {
    all(...values: Value[]): Record<string, Value>[]
    get(...values: Value[]): Record<string, Value> | undefined
    run(...values: Value[]): { changes: number | bigint; lastInsertRowid: number | bigint }
    setReadBigInts(enabled: boolean): void
    setReturnArrays(enabled: boolean): void
  }
}
