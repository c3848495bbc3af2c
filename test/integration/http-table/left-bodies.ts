import { connect, type Socket } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import type { DbClientObject } from '@svc/db'
import { exchange } from './exchange.js'
import { serverWithObjects, USER_HEADER, type Serve } from './fixture.js'

const MIB = 1024 ** 2

/** Tests bodies that one side stops reading or sending. After each, the server serves the next request. */
export function describeLeftBodies(serve: Serve, { seesResponse }: { readonly seesResponse: boolean }): void {
  describe('bodies that are left', () => {
    let baseURL: string
    beforeAll(async () => {
      baseURL = await serve(serverWithObjects())
    })

    /** Sends the start of a body of 64 MiB, which every runtime accepts. Resolves to the status, or to `null` if the connection closes before. */
    function begin(method: string, url: string, headers: Readonly<Record<string, string>>, sent: number) {
      const { host, port, pathname } = new URL(url)
      const fields = { host, [USER_HEADER]: 'user:1', 'content-length': String(64 * MIB), ...headers }
      const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
      const socket: Socket = connect(Number(port), '127.0.0.1')
      const status = new Promise<number | null>((resolve) => {
        socket.on('data', (data) => resolve(Number(data.toString('latin1').split(' ')[1])))
        socket.on('close', () => resolve(null))
        socket.on('error', () => resolve(null))
      })
      socket.write(`${method} ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n`)
      const isSent = new Promise((resolve) => socket.write(Buffer.alloc(sent, 'x'), resolve))
      return { socket, status, isSent }
    }

    async function beginUpload(size: number) {
      const json = { filename: 'a.png', contentType: 'image/png', size }
      const { json: begun } = await exchange(baseURL, { request: 'POST /upload', json })
      return begun as {
        readonly object: DbClientObject
        readonly upload: { readonly url: string; readonly headers: Record<string, string> }
      }
    }

    const put = ({ url, headers }: { url: string; headers: Record<string, string> }, size: number) =>
      fetch(url, { method: 'PUT', headers, body: new Uint8Array(size) })

    it.each([
      ['JSON of more than 64 KiB', 'POST', '/upload', 400],
      ['a body to an unknown path', 'POST', '/unknown', 404],
      ['bytes to an invalid URL', 'PUT', '/_storage/x', 403],
    ])('%s', async (_, method, path, expected) => {
      const { socket, status } = begin(
        method,
        baseURL + path,
        { 'content-type': 'application/json' },
        MIB / 4,
      )
      // Workers may close the connection before the client has read the response.
      expect(seesResponse ? [expected] : [expected, null]).toContain(await status)
      socket.destroy()
      expect((await exchange(baseURL, { request: 'GET /db/objects' })).status).toBe(200)
    })

    it('bytes of a wrong size, and those of a client that disconnects', async () => {
      const { upload } = await beginUpload(MIB)
      const tooLong = begin('PUT', upload.url, upload.headers, 2 * MIB)
      expect(seesResponse ? [400] : [400, null]).toContain(await tooLong.status)
      tooLong.socket.destroy()
      const cutOff = begin('PUT', upload.url, { ...upload.headers, 'content-length': String(MIB) }, 1000)
      await cutOff.isSent
      cutOff.socket.destroy()
      // The server may learn of the end a little later.
      await expect.poll(async () => (await put(upload, MIB)).status).toBe(200)
    })

    it('downloads that their readers abandon', async () => {
      const size = 8 * MIB
      const { object, upload } = await beginUpload(size)
      expect((await put(upload, size)).status).toBe(200)
      const { key, id } = object
      await exchange(baseURL, { request: 'POST /upload/confirm', json: { key, id } })
      const download = await exchange(baseURL, { request: `GET /download?key=${encodeURIComponent(key)}` })
      const { url } = download.json as { readonly url: string }
      for (let count = 0; count < 10; count++) {
        const reader = (await fetch(url)).body!.getReader()
        await reader.read()
        await reader.cancel()
      }
      expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(size)
    })
  })
}
