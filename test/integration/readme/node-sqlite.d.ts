/** The part of `node:sqlite` that snippets use. Its types come with Node.js 22. */
declare module 'node:sqlite' {
  export class DatabaseSync {
    constructor(path: string)
    prepare(sql: string): {
      all(...values: readonly unknown[]): unknown[]
      get(...values: readonly unknown[]): unknown
      run(...values: readonly unknown[]): { changes: number | bigint }
    }
    exec(sql: string): void
    close(): void
  }
}
