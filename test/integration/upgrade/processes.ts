import { fork } from 'node:child_process'
import type { StorageObjectStore } from '@svc/db'
import type { LoadReport, Version } from './load.js'
import type { OwnKey } from './own-keys.js'
import type { Connection } from '../races/database.js'
import type { FromProcess, RemoteMethod, ToProcess } from './process.js'

/** A process of one version, with its own connections. */
export interface UpgradeProcess {
  readonly version: Version
  call<M extends RemoteMethod>(
    method: M,
    ...input: Parameters<StorageObjectStore[M]>
  ): ReturnType<StorageObjectStore[M]>
  /** Starts concurrent callers that change these keys and others. */
  startLoad(callers: number, keys: readonly OwnKey[]): RunningLoad
  /** Closes the connections and ends the process. */
  close(): Promise<void>
}

export interface RunningLoad {
  /** Resolves when this many more calls have ended, or the load has. */
  untilCalls(more: number): Promise<void>
  finish(): Promise<LoadReport>
}

/** Starts a process that runs `file`, a bundle of `process.ts`. */
export function startProcess(file: string, version: Version, connection: Connection): UpgradeProcess {
  // Structured clones keep dates.
  const child = fork(file, { serialization: 'advanced' })
  const send = (message: ToProcess) => void (child.connected && child.send(message))
  const calls = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  let numberOfCalls = 0
  let onLoad: (message: Extract<FromProcess, { kind: 'progress' | 'report' }>) => void = () => {}
  let onExit = (_: Error) => {}
  child.on('message', (message: FromProcess) => {
    if (message.kind === 'result') calls.get(message.number)?.resolve(message.result)
    else if (message.kind === 'failure') calls.get(message.number)?.reject(new Error(message.text))
    else onLoad(message)
  })
  child.once('exit', (code) => {
    const error = new Error(`A process of ${version} exited with code ${code}.`)
    for (const { reject } of calls.values()) reject(error)
    onExit(error)
  })
  send({ kind: 'open', connection })

  return {
    version,
    call<M extends RemoteMethod>(method: M, ...input: Parameters<StorageObjectStore[M]>) {
      const number = ++numberOfCalls
      const result = new Promise<unknown>((resolve, reject) => calls.set(number, { resolve, reject }))
      send({ kind: 'call', number, method, input })
      return result.finally(() => calls.delete(number)) as ReturnType<StorageObjectStore[M]>
    },
    startLoad(callers, keys) {
      let done = 0
      let onProgress = () => {}
      const report = new Promise<LoadReport>((resolve, reject) => {
        onExit = reject
        onLoad = (message) => {
          if (message.kind === 'report') return resolve(message.report)
          done = message.calls
          onProgress()
        }
      })
      // A failure is reported to those who await the report. Until then it must not count as an unhandled rejection.
      report.catch(() => {})
      send({ kind: 'start', task: { version, callers, keys } })
      return {
        async untilCalls(more) {
          const goal = done + more
          const reached = new Promise<void>((resolve) => {
            onProgress = () => {
              if (done >= goal) resolve()
            }
          })
          await Promise.race([reached, report])
        },
        finish() {
          send({ kind: 'finish' })
          return report
        },
      }
    },
    async close() {
      if (child.exitCode !== null) return
      const exit = new Promise((resolve) => child.once('exit', resolve))
      send({ kind: 'close' })
      await exit
    },
  }
}
