import { once } from 'node:events'
import {
  Agent,
  createServer,
  request,
  type IncomingMessage,
  type RequestOptions,
  type Server,
} from 'node:http'
import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import { createS3Client, dbClient } from '@svc/db/client'
import { expect, vi } from 'vitest'
import { RawConnection } from '../../bindings/raw-connection.js'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { originOf } from '../running-servers.js'
import { signedInAs } from './app-client.js'

const servesFetch: SnippetCheck = async (program) => {
  const { server } = await run<{ server: Server }>(program)
  const baseURL = await originOf(server)
  const { api } = createS3Client({ baseURL, headers: signedInAs('ann'), plugins: [dbClient()] })
  const { key } = await api.upload(new File(['hello'], 'hello.txt', { type: 'text/plain' }))
  const { url } = await api.download({ key })
  expect(await (await fetch(url)).text()).toBe('hello')
  expect((await api.db.listObjects()).objects).toMatchObject([{ key, size: 5 }])
  await api.delete({ key })
  expect((await fetch(`${baseURL}/api/s3/db/objects`)).status).toBe(401)
  expect((await fetch(`${baseURL}/elsewhere`)).status).toBe(404)
  await expectClosed(baseURL, '/api/s3/upload', 400)
  await expectClosed(baseURL, '/api/s3/unknown', 404)
  await expectClosed(baseURL, '/elsewhere', 404)
  await expectNextRequest(baseURL)
  await expectServedBehindParser(server)
  await expectCancelled(baseURL)
}

/** Expects a response to a body that is never complete, and then the end of its connection. */
async function expectClosed(baseURL: string, path: string, status: number): Promise<void> {
  const connection = await RawConnection.open(Number(new URL(baseURL).port))
  const closed = new Promise((resolve) => connection.socket.once('close', resolve))
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nX-Signed-In-As: ann\r\nContent-Type: application/json\r\n`
  connection.send(`${head}Content-Length: ${2 ** 30}\r\n\r\n${'x'.repeat(3 * 2 ** 20)}`)
  expect((await connection.response()).status).toBe(status)
  await closed
}

/** Expects a response to the request that follows a whole body, of which the library has read a part. */
async function expectNextRequest(baseURL: string): Promise<void> {
  // A busy machine may need longer for the body than the half second that the program allows.
  const { setTimeout } = globalThis
  const patient = vi
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((run: () => void, milliseconds = 0) => setTimeout(run, milliseconds * 100))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = async (path: string, options: RequestOptions, body?: Buffer) => {
    const sent = request(`${baseURL}${path}`, { agent, ...options }).end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    await once(response.resume(), 'end')
    return { status: response.statusCode, isNext: sent.reusedSocket }
  }
  const headers = { ...signedInAs('ann'), 'content-type': 'application/json' }
  const refused = await send('/api/s3/upload', { method: 'POST', headers }, Buffer.alloc(3 * 2 ** 20, 'x'))
  expect(refused).toEqual({ status: 400, isNext: false })
  expect(await send('/elsewhere', {})).toEqual({ status: 404, isNext: true })
  agent.destroy()
  patient.mockRestore()
}

/** Expects the bodies of downloads to be cancelled if the client leaves, also those that wait behind the first one. */
async function expectCancelled(baseURL: string): Promise<void> {
  const { api } = createS3Client({ baseURL, headers: signedInAs('ann'), plugins: [] })
  const { key } = await api.upload(new File([new Uint8Array(8 * 2 ** 20)], 'film.mp4'))
  const { pathname, search, port } = new URL((await api.download({ key })).url)
  const bodies = vi.spyOn(Readable, 'fromWeb')
  // The program logs what interrupts a download.
  vi.spyOn(console, 'error').mockReturnValue()
  const connection = await RawConnection.open(Number(port))
  connection.socket.pause()
  connection.send(`GET ${pathname}${search} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(3))
  await expect.poll(() => bodies.mock.results.length).toBe(3)
  connection.socket.resetAndDestroy()
  const isCancelled = ({ value }: { readonly value: unknown }) => (value as Readable).destroyed
  await expect.poll(() => bodies.mock.results.every(isCancelled)).toBe(true)
}

async function expectServedBehindParser(server: Server): Promise<void> {
  const parser = createServer((message: IncomingMessage & { body?: unknown }, response) => {
    void json(message).then((body) => {
      message.body = body
      server.emit('request', message, response)
    })
  }).listen()
  const response = await fetch(`${await originOf(parser)}/api/s3/upload`, {
    method: 'POST',
    headers: { ...signedInAs('ann'), 'content-type': 'application/json' },
    body: JSON.stringify({ filename: 'a.txt', contentType: 'text/plain', size: 1 }),
  })
  expect(response.status).toBe(201)
}

export const fetchChecks: SnippetChecks = {
  'docs/fetch.md#node-server.ts': servesFetch,
}
