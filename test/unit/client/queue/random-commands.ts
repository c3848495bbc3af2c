import { S3ClientError, type DbClientObject, type S3Api, type UploadState } from '@svc/db/client'
import { createUploadQueue, type QueuedUploadState } from '@svc/db/uploads'
import fc from 'fast-check'
import { expect } from 'vitest'
import { note, watch } from './queue-of-files.js'

const CONCURRENCY = 2
const OBJECT: DbClientObject = { id: '1', key: 'a', bucket: 'b', status: 'active', createdAt: '2026-01-01' }

/** What an upload does next. The states are those that it reports. */
const STEPS = ['resolve', 'reject', 'sending', 'waiting', 'confirming'] as const
type Step = (typeof STEPS)[number]

/** Creates an `api` whose uploads end and wait when the test says so, and stop as those of the client do. */
function controlledApi() {
  const open: {
    readonly file: Blob
    readonly isSending: () => boolean
    readonly step: (step: Step) => void
  }[] = []
  const upload: S3Api['upload'] = (file, options = {}) =>
    new Promise((resolve, reject) => {
      const signal = options.signal!
      let phase: UploadState = 'sending'
      const isPause = () => (signal.reason as Error).name === 'PAUSED'
      const end = (settle: () => void) => {
        if (!open.includes(call)) return
        open.splice(open.indexOf(call), 1)
        settle()
      }
      const stop = () => end(() => reject(new S3ClientError(isPause() ? 'PAUSED' : 'ABORTED', 'stopped.')))
      const call = {
        file,
        isSending: () => phase === 'sending',
        step(step: Step) {
          if (step === 'resolve') return end(() => resolve(OBJECT))
          // An abort may come too late, and a pause does.
          if (step === 'reject' && signal.aborted && !isPause()) return stop()
          if (step === 'reject') return end(() => reject(new S3ClientError('FORBIDDEN', 'No.')))
          if (step !== 'waiting') phase = step
          options.onState!(step)
          if (phase === 'sending' && signal.aborted) stop()
        },
      }
      open.push(call)
      signal.addEventListener('abort', () => phase === 'sending' && stop())
      options.onState!('sending')
    })
  return { api: { upload, uploadRules: () => Promise.resolve({ routes: {} }) }, open }
}

/** Lets everything happen that waits for nothing else. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

const CALLS = ['pause', 'resume', 'retry', 'cancel'] as const
const commands = fc.array(
  fc.record({
    /** A call of the queue, or a step of an upload that is in progress. */
    what: fc.constantFrom('add', ...CALLS, ...STEPS),
    /** Which file or upload. `undefined`: all files. */
    which: fc.option(fc.nat(5), { nil: undefined, freq: 1 }),
    /** Whether the next command comes at once, before anything has settled. */
    isHasty: fc.boolean(),
  }),
  { maxLength: 60, size: 'max' },
)

const isCall = (what: string): what is (typeof CALLS)[number] => (CALLS as readonly string[]).includes(what)

/** What the person wants of a file, after a call that finds it in a state. */
function wantedAfter(
  call: (typeof CALLS)[number],
  state: QueuedUploadState,
  wanted: string,
  isHeld: boolean,
): string {
  if (state === 'done') return wanted
  if (state === 'failed') return call !== 'retry' ? wanted : isHeld ? 'paused' : 'stored'
  if (call === 'cancel') return 'cancelled'
  if (call === 'pause' && wanted === 'stored') return 'paused'
  return call === 'resume' && wanted === 'paused' ? 'stored' : wanted
}

/** What a file can be, by what is wanted of it, once no upload is in progress. One that ended before it could be stopped has its outcome. */
const OUTCOMES: Readonly<Record<string, readonly string[]>> = {
  stored: ['done', 'failed FORBIDDEN'],
  paused: ['done', 'failed FORBIDDEN', 'paused'],
  cancelled: ['done', 'failed FORBIDDEN', 'failed ABORTED'],
}

/** What it can be besides before that. `waiting`: to verify it. */
const ON_THE_WAY: Readonly<Record<string, readonly string[]>> = {
  stored: ['queued', 'uploading', 'waiting', 'confirming'],
  paused: ['waiting', 'confirming'],
  cancelled: ['confirming'],
}

/** Calls a queue at random, and expects that each file becomes what the last call wanted. */
export async function checkRandomCommands(numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(commands, async (script) => {
      const { api, open } = controlledApi()
      const { queue, items, states, of } = watch(createUploadQueue(api, { concurrency: CONCURRENCY }))
      const wanted = new Map<string, string>()
      const ids = new Map<Blob, string>()
      let isHeld = false
      const add = () => {
        const file = note()
        const [id = ''] = queue.add(file)
        ids.set(file, id)
        wanted.set(id, isHeld ? 'paused' : 'stored')
      }
      const check = (others: typeof OUTCOMES = {}) => {
        const unexpected = items().flatMap(({ id, state, error }) => {
          const want = wanted.get(id)!
          const shown = error ? `${state} ${error.code}` : state
          return OUTCOMES[want]!.includes(shown) || others[want]?.includes(shown) ? [] : [{ want, shown }]
        })
        expect(unexpected).toEqual([])
        expect(open.length).toBeLessThanOrEqual(CONCURRENCY)
        expect(new Set(open.map(({ file }) => file)).size).toBe(open.length)
        for (const { file } of open.filter(({ isSending }) => isSending())) {
          expect(['uploading', 'waiting']).toContain(of(ids.get(file)!).state)
        }
      }
      const run = async () => {
        for (await settled(); open.length > 0; await settled()) open[0]!.step('resolve')
      }

      for (let file = 1; file <= 4; file++) add()
      for (const { what, which, isHasty } of script) {
        if (isCall(what)) {
          const before = which === undefined ? items() : items().slice(which, which + 1)
          if (which === undefined && what === 'pause') isHeld = true
          if (which === undefined && what === 'resume') isHeld = false
          for (const { id, state } of before) {
            wanted.set(id, wantedAfter(what, state, wanted.get(id)!, isHeld))
          }
          if (which === undefined) queue[what]()
          else before.forEach(({ id }) => queue[what](id))
        } else if (what === 'add') add()
        else open[(which ?? 0) % open.length]?.step(what)
        if (isHasty) continue
        await settled()
        check(ON_THE_WAY)
      }

      await run()
      check()
      queue.resume()
      queue.retry()
      await run()
      expect(new Set([...states(), 'done'])).toEqual(new Set(['done']))
    }),
    { numRuns },
  )
}
