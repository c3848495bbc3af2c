import { join } from 'node:path'
import type { Connection } from './database.js'

/** The task of a process that writes objects and delivers events. */
export interface EventTask {
  readonly connection: Connection
  readonly worker: number
  readonly writers: number
  readonly claimers: number
  /** When the clock of the stores showed the real time, and how much faster it runs. */
  readonly started: number
  readonly pace: number
  /** The folder in which each process logs every call. */
  readonly folder: string
}

export interface EventReport {
  /** Number of calls of writers that have succeeded. */
  successes: number
}

/** Returns a clock that all processes of a race share. It runs faster than time, so claims expire soon. */
export function clockOf({ started, pace }: Pick<EventTask, 'started' | 'pace'>): () => number {
  return () => started + (Date.now() - started) * pace
}

export function logOf({ folder, worker }: Pick<EventTask, 'folder' | 'worker'>): string {
  return join(folder, `${worker}.jsonl`)
}
