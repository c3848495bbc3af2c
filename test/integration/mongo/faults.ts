import type { MongoClient } from 'mongodb'
import type { Connection } from '../races/database.js'
import type { RaceReport, RaceTask } from '../races/race.js'
import { startWorkers, type Workers } from '../races/workers.js'
import { onServer, type Member } from '../../servers/mongod.js'
import { until } from '../../until.js'
import { tcpRelay, type TcpRelay } from '../drivers/tcp-relay.js'

/** Something that goes wrong for a while. Resolves once it is over; the servers may still recover. */
export type Fault = (processes: readonly number[]) => Promise<void>

const SECOND = 1000
const between = (least: number, most: number) => least + Math.random() * (most - least)
const pause = (seconds: number) => new Promise<void>((resolve) => setTimeout(resolve, seconds * SECOND))

/** A host that relays to a server, and can be cut off from everybody. */
export interface RelayedHost {
  readonly host: string
  /** Closes all connections, by FIN or RST. */
  cut(end: 'FIN' | 'RST'): void
  /** Whether new connections are refused. */
  isCutOff: boolean
  close(): Promise<void>
}

export async function relayedHost(target: string): Promise<RelayedHost> {
  const { hostname, port } = new URL(`tcp://${target}`)
  const clients = new Set<Parameters<Parameters<typeof tcpRelay>[1]>[0]>()
  const relay: TcpRelay = await tcpRelay(
    () => ({ hostname, port }),
    (connection) => {
      if (relayed.isCutOff) return connection.cut()
      clients.add(connection)
      connection.client.once('close', () => clients.delete(connection))
      connection.client.pipe(connection.server).pipe(connection.client)
    },
  )
  const relayed: RelayedHost = {
    host: `127.0.0.1:${relay.port}`,
    isCutOff: false,
    cut(end) {
      for (const { client, cut } of clients) {
        if (end === 'RST') client.resetAndDestroy()
        cut()
      }
    },
    close: () => relay.close(),
  }
  return relayed
}

/** Closes the connections of all clients, who may stand still at that moment. */
export function cutting(hosts: readonly RelayedHost[]): Fault {
  return async (processes) => {
    const end = Math.random() < 0.5 ? 'FIN' : 'RST'
    await frozen(processes, between(0.02, 0.2), () => {
      for (const host of hosts) host.cut(end)
    })
  }
}

/** Stops one of the processes that make calls, sometimes for longer than others wait for its transactions. */
export function freezingProcess(): Fault {
  return (processes) => {
    const one = processes[Math.floor(Math.random() * processes.length)]!
    return frozen([one], Math.random() < 0.3 ? between(8, 15) : between(0.1, 2))
  }
}

/** Stops a server. */
export function freezing(member: () => Promise<Member>, [least, most]: readonly [number, number]): Fault {
  return async () => frozen([(await member()).pid], between(least, most))
}

export function killing(members: () => Promise<readonly Member[]>, down: readonly [number, number]): Fault {
  return async () => {
    const killed = await members()
    await Promise.all(killed.map((member) => member.kill()))
    await pause(between(...down))
    await Promise.all(killed.map((member) => member.restart()))
  }
}

/** Cuts a member off from all clients. It still reaches the other members. */
export function cuttingOff(
  host: () => Promise<RelayedHost>,
  [least, most]: readonly [number, number],
): Fault {
  return async () => {
    const relayed = await host()
    relayed.isCutOff = true
    relayed.cut('RST')
    await pause(between(least, most))
    relayed.isCutOff = false
  }
}

export function steppingDown(primary: () => Promise<Member>): Fault {
  return async () => {
    const { url } = await primary()
    // The response may be lost with the connection, or another election may be in progress.
    const command = { replSetStepDown: 5, secondaryCatchUpPeriodSecs: 1, force: true }
    await onServer(url, (client) => client.db('admin').command(command)).catch(() => {})
  }
}

/** Keeps a process that writes to the scopes of all others, and kills it in the middle of its transactions. */
export function killingWriters(connection: Connection): { readonly fault: Fault; stop(): void } {
  const start = () =>
    startWorkers<RaceTask, RaceReport>(new URL('../races/race-worker.ts', import.meta.url), 1, {
      ...{ program: 'quota', callers: 8, connection },
    })
  let running: Workers<RaceReport> | undefined
  return {
    async fault() {
      running = await start()
      // It may be refused for as long as others fill the quota.
      await Promise.race([running.untilMore('acknowledged', 1), running.untilMore('refused', 1), pause(10)])
      running.stop()
      running = undefined
    },
    stop: () => running?.stop(),
  }
}

/** Chooses faults at random until the time is over. */
export function* randomFaults(
  faults: Readonly<Record<string, Fault>>,
  { minutes, client, log }: { minutes: number; client: MongoClient; log: string[] },
): Generator<Fault> {
  const end = Date.now() + minutes * 60 * SECOND
  const names = Object.keys(faults)
  while (Date.now() < end) {
    const name = names[Math.floor(Math.random() * names.length)]!
    yield async (processes) => {
      log.push(name)
      await faults[name]!(processes)
      await until(() => hasPrimary(client))
    }
  }
}

async function hasPrimary(client: MongoClient): Promise<boolean> {
  const hello = await client
    .db('admin')
    .command({ hello: 1 })
    .catch(() => null)
  return hello?.['isWritablePrimary'] === true
}

/** Stops processes, and lets them go on after this number of seconds. */
async function frozen(pids: readonly number[], seconds: number, meanwhile = () => {}): Promise<void> {
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  try {
    meanwhile()
    await pause(seconds)
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}
