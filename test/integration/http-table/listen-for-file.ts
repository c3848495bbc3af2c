import type { RequestListener } from 'node:http'
import { afterAll } from 'vitest'
import { startHttpServer } from '../../servers/http-server.js'

/** Serves until all tests of the file are over. Returns the URL without a trailing slash. */
export async function listenForFile(listener: RequestListener): Promise<string> {
  const { url, stop } = await startHttpServer(listener)
  afterAll(() => stop())
  return url
}
