import type { Socket } from 'node:net'
import { BSON } from 'mongodb'
import { tcpRelay } from '../drivers/tcp-relay.js'

/** A command or a response in MongoDB's wire protocol (OP_MSG). */
export type WireDocument = Record<string, unknown>

/** What the proxy does with a command. */
export type Fate =
  | 'pass'
  /** Closes the connection. The server never gets the command. */
  | 'cut-before'
  /** Passes the command on and closes the connection when the server responds. */
  | 'cut-after'
  /** Drops the command and leaves the connection open. */
  | 'swallow'
  /** Keeps the command until `release` is called. */
  | 'hold'
  /** Passes another command on instead. */
  | { readonly instead: WireDocument }
  /** Responds in the server's place. The server never gets the command. */
  | { readonly response: WireDocument }

export interface WireProxy {
  /** The URL of the proxy, which leads to one member only. */
  readonly url: string
  /** Decides the fate of each command that a client sends. */
  onCommand: (command: WireDocument) => Fate
  /** Passes on the commands that were held. */
  release(): void
  close(): Promise<void>
}

const OP_MSG = 2013
const HEADER = 16
const MORE_TO_COME = 2

/** Starts a proxy to the server that can drop or replace commands and responses. */
export async function wireProxy(target: string): Promise<WireProxy> {
  const { hostname, port } = new URL(target.replace(/,[^/]*/, ''))
  let held: (() => void)[] = []
  const relay = await tcpRelay(
    () => ({ hostname, port }),
    ({ client, server, cut }) => {
      let isLosing = false
      onMessages(client, (message) => {
        const command = documentOf(message)
        const fate = command === null ? 'pass' : proxy.onCommand(command)
        if (fate === 'cut-before') return cut()
        if (fate === 'swallow') return
        if (fate === 'hold') return void held.push(() => server.write(message))
        if (typeof fate === 'object' && 'response' in fate)
          return client.write(responseTo(message, fate.response))
        if (fate === 'cut-after') isLosing = true
        server.write(typeof fate === 'object' ? withDocument(message, fate.instead) : message)
      })
      onMessages(server, (message) => {
        if (isLosing) return cut()
        client.write(message)
      })
    },
  )
  const proxy: WireProxy = {
    url: `mongodb://127.0.0.1:${relay.port}/?directConnection=true`,
    onCommand: () => 'pass',
    release() {
      for (const pass of held) pass()
      held = []
    },
    close: () => relay.close(),
  }
  return proxy
}

function onMessages(socket: Socket, use: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= HEADER && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0)
      use(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
  })
}

/** Returns the command of a message; `null` for other messages, such as the first one of a connection. */
function documentOf(message: Buffer): WireDocument | null {
  if (message.readInt32LE(12) !== OP_MSG || message[HEADER + 4] !== 0) return null
  // Other flags belong to the driver's monitoring, whose responses are streamed.
  if (message.readInt32LE(HEADER) & ~MORE_TO_COME & 0xffff) return null
  return BSON.deserialize(message.subarray(HEADER + 5), { promoteValues: true, useBigInt64: true })
}

function withDocument(message: Buffer, document: WireDocument): Buffer {
  const body = BSON.serialize(document)
  const head = Buffer.from(message.subarray(0, HEADER + 5))
  head.writeInt32LE(head.length + body.length, 0)
  return Buffer.concat([head, body])
}

function responseTo(message: Buffer, document: WireDocument): Buffer {
  const response = withDocument(message, document)
  response.writeInt32LE(message.readInt32LE(4), 8)
  response.writeInt32LE(0, HEADER)
  return response
}
