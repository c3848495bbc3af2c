import type { CommandStartedEvent, MongoClient } from 'mongodb'
import { clientOf, type DriverVersion } from './databases.js'

/** A command that was sent to the server. */
export interface WireCommand {
  readonly name: string
  readonly command: Readonly<Record<string, unknown>>
}

/** A client that records its commands. */
export interface WatchedClient {
  readonly client: MongoClient
  /** Returns the commands since the last call. */
  take(): WireCommand[]
}

/** Commands that the driver sends on its own. No call of the store waits for them. */
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
