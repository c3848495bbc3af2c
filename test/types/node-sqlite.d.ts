/** What the example adapter uses of `node:sqlite`, which the types of Node 20 lack. */
declare module 'node:sqlite' {
  export type SQLInputValue = null | number | bigint | string | Uint8Array
  export type SQLOutputValue = SQLInputValue

  export class DatabaseSync {
    constructor(path: string)
    exec(sql: string): void
    prepare(sql: string): StatementSync
    close(): void
    readonly isTransaction: boolean
  }

  export class StatementSync {
    all(values: Record<string, SQLInputValue>): Record<string, SQLOutputValue>[]
    get(values: Record<string, SQLInputValue>): Record<string, SQLOutputValue> | undefined
    run(values: Record<string, SQLInputValue>): { changes: number | bigint }
    setAllowUnknownNamedParameters(enabled: boolean): void
  }
}
