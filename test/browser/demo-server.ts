import { startExample, type ExampleProcess } from '../servers/example-process.js'

/** Settings that select stores or limits, cleared to ignore the environment of the tests. */
const NO_SETTINGS = {
  DATABASE_URL: '',
  MONGODB_URL: '',
  S3_ENDPOINT: '',
  S3_BUCKET: '',
  AWS_ACCESS_KEY_ID: '',
  AWS_SECRET_ACCESS_KEY: '',
  AWS_REGION: '',
  QUOTA_BYTES: '',
}

export interface DemoOptions {
  readonly dataFolder: string
  /** Value of `PORT`. Default: 0, any free port. */
  readonly port?: number | string
  /** Default: none, which stores records and bytes in the folder. */
  readonly settings?: Partial<typeof NO_SETTINGS>
}

/** The environment variables that `npm start` reads. */
export function demoEnvironment({ dataFolder, port = 0, settings }: DemoOptions): Record<string, string> {
  return {
    // The SDK warns on Node 20 that it will require a newer version.
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    ...NO_SETTINGS,
    ...settings,
    PORT: String(port),
    DATA_DIR: dataFolder,
  }
}

/** Starts the demo as a separate process. Rejects with its stderr if it exits by itself. */
export function startDemo(options: DemoOptions): Promise<ExampleProcess> {
  return startExample('examples/demo/start.mjs', demoEnvironment(options))
}
