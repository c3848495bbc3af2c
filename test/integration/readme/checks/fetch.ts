import { createServer, type IncomingMessage, type Server } from 'node:http'
import { json } from 'node:stream/consumers'
import { createS3Client, dbClient } from '@svc/db/client'
import { expect } from 'vitest'
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
  await expectServedBehindParser(server)
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
