import type * as clientExports from '@svc/db/client'
import type { TestContext } from 'vitest'
import { until } from '../../until.js'
import { startClientPage, type ClientPage, type ClientPageOptions } from '../client-page.js'
import type { Engine, Profile, Tab } from './engine.js'

declare global {
  interface Window {
    client: typeof clientExports
    /** The outcome of the latest call of `startUpload`. */
    outcome: Promise<Outcome>
    /** Bytes that the latest upload has reported. */
    loaded: number | undefined
  }
}

/** A server and a profile that one test uses. */
export interface EngineSession {
  readonly server: ClientPage
  readonly profile: Profile
  readonly tab: Tab
  /** Opens the page in another tab. Resolves once the client has loaded. */
  readonly openTab: () => Promise<Tab>
}

/** Opens a session that ends with the test. */
export async function openEngineSession(
  engine: Engine,
  { onTestFinished }: TestContext,
  options?: ClientPageOptions,
): Promise<EngineSession> {
  const server = await startClientPage({ ...(engine.network && { network: engine.network }), ...options })
  onTestFinished(() => server.stop())
  const profile = await engine.openProfile()
  onTestFinished(() => profile.close())
  const openTab = async () => {
    const tab = await profile.openTab(server.url)
    await untilLoaded(tab)
    return tab
  }
  return { server, profile, tab: await openTab(), openTab }
}

/** Waits until the client has loaded. */
export const untilLoaded = (tab: Tab): Promise<void> => until(() => tab.evaluate(() => 'client' in window))

/** Waits until the digest of the first part, which has arrived, is in the browser's storage, where it is written every second. */
export const untilKept = (tab: Tab): Promise<void> =>
  until(() =>
    tab.evaluate(() => Object.values(localStorage).some((text) => /"digests":\[null,\["/.test(String(text)))),
  )

export interface Outcome {
  readonly key?: string
  /** `active`, or the code of the error; of an error without one, its text. */
  readonly result: string
  readonly status?: number
  readonly params?: object
  readonly message?: string
}

export interface UploadPlan {
  /** Bytes of a file that the page makes, the same each time: see `bytesOf`. Default: the chosen file. */
  readonly size?: number
  /** Default: that of the client. */
  readonly stallSeconds?: number
}

/** Starts an upload, whose outcome the page keeps. */
export function startUpload(tab: Tab, plan: UploadPlan): Promise<void> {
  return tab.evaluate(({ size, stallSeconds }: UploadPlan) => {
    const { api } = window.client.createS3Client({
      plugins: [],
      headers: { 'x-user': 'ada' },
      stallSeconds: stallSeconds ?? null,
    })
    const made = (length: number) => {
      const bytes = new Uint8Array(length)
      for (let at = 0; at < length; at++) bytes[at] = at % 251
      return new File([bytes], 'a.bin', { lastModified: 1 })
    }
    const file = size === undefined ? document.querySelector('input')!.files![0]! : made(size)
    const onProgress = ({ loaded }: clientExports.UploadProgress) => void (window.loaded = loaded)
    window.outcome = api.upload(file, { onProgress }).then(
      ({ key, status }) => ({ key, result: status }),
      (error: clientExports.S3ClientError) => ({
        result: error instanceof window.client.S3ClientError ? error.code : String(error),
        ...(error.status !== undefined && { status: error.status }),
        ...(error.params && { params: error.params }),
        message: error.message,
      }),
    )
  }, plan)
}

export const outcomeOf = (tab: Tab): Promise<Outcome> => tab.evaluate(() => window.outcome)

export async function upload(tab: Tab, plan: UploadPlan): Promise<Outcome> {
  await startUpload(tab, plan)
  return outcomeOf(tab)
}

export const settle = (tab: Tab): Promise<clientExports.SettledUploads> =>
  tab.evaluate(() => {
    const { api } = window.client.createS3Client({ plugins: [], headers: { 'x-user': 'ada' } })
    return api.settleUploads()
  })

/** The bytes of a file that the page makes. */
export function bytesOf(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at < size; at++) bytes[at] = at % 251
  return bytes
}

/** Chooses a file on disk, like a user. */
export async function chooseFile(tab: Tab, path: string): Promise<void> {
  await tab.evaluate(() => void (document.body.innerHTML = '<input type="file">'))
  await tab.choose('input', [path])
}
