import { startExample, type ExampleProcess } from '../servers/example-process.js'

export interface DemoOptions {
  readonly dataFolder: string
  /** Default: a free one. */
  readonly port?: number
  /** Default: none, so that its records are in PGlite. */
  readonly databaseUrl?: string
}

/** The demo as a process of its own. Rejects with its complaints where it ends by itself. */
export function startDemo({ dataFolder, port, databaseUrl }: DemoOptions): Promise<ExampleProcess> {
  return startExample('examples/demo/server.mjs', {
    PORT: String(port ?? ''),
    DATA_DIR: dataFolder,
    DATABASE_URL: databaseUrl ?? '',
  })
}
