import { startExample, type ExampleProcess } from '../servers/example-process.js'

/** Settings of the demo that choose places elsewhere. None of them comes from the surroundings of the tests. */
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
  /** Default: a free one. */
  readonly port?: number
  /** Default: none, so that records and bytes are in the folder. */
  readonly settings?: Partial<typeof NO_SETTINGS>
}

/** The demo as a process of its own. Rejects with its complaints where it ends by itself. */
export function startDemo({ dataFolder, port, settings }: DemoOptions): Promise<ExampleProcess> {
  return startExample('examples/demo/server.mjs', {
    // The SDK tells every process on Node 20 that it will want a newer one some day.
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    ...NO_SETTINGS,
    ...settings,
    PORT: String(port ?? ''),
    DATA_DIR: dataFolder,
  })
}
