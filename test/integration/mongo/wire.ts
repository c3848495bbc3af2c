import type { CommandStartedEvent, MongoClient } from 'mongodb'
import { clientOf, type DriverVersion } from './places.js'

/** A command as it went over the wire. */
export interface WireCommand {
  readonly name: string
  readonly command: Readonly<Record<string, unknown>>
}

/** A client whose commands are written down. */
export interface WatchedClient {
  readonly client: MongoClient
  /** Those since this was last asked. */
  take(): WireCommand[]
}

/** Of the driver's own connections and sessions, which no call of the store waits for. */
const OWN = new Set(['hello', 'isMaster', 'ismaster', 'endSessions'])

export function watchedClient(url: string, options: object = {}, driver: DriverVersion = 7): WatchedClient {
  const client = clientOf(url, { ...options, monitorCommands: true }, driver)
  let commands: WireCommand[] = []
  client.on('commandStarted', ({ commandName: name, command }: CommandStartedEvent) => {
    if (!OWN.has(name)) commands.push({ name, command })
  })
  return {
    client,
    take() {
      const taken = commands
      commands = []
      return taken
    },
  }
}
