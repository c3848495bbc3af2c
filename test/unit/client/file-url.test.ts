import { createS3Client } from '@svc/db/client'
import { describe, expect, it, vi } from 'vitest'
import { bytesAt, startClient, type Fetch } from './server.js'

const record = {
  id: '019b7d00-0000-7000-8000-000000000000',
  bucket: 'files',
  key: 'a b/ü+&=?#%.png',
  status: 'active',
  createdAt: '2026-01-01T12:00:00.000Z',
} as const

describe('api.fileURL', () => {
  const fetch = vi.fn<Fetch>()
  const { api } = createS3Client({ plugins: [], fetch })

  it.each([
    [{ key: 'a' }, '/api/s3/file?key=a'],
    [{ key: 'a', bucket: 'b', disposition: 'inline' }, '/api/s3/file?key=a&bucket=b&disposition=inline'],
    [{ key: 'a', bucket: null, disposition: null }, '/api/s3/file?key=a'],
    [{ id: record.id }, `/api/s3/file?id=${record.id}`],
    [{ key: 'a', cors: true }, '/api/s3/file?key=a&cors=true'],
    [{ id: record.id, cors: true }, `/api/s3/file?id=${record.id}&cors=true`],
    [{ key: 'a', cors: null }, '/api/s3/file?key=a'],
    [{ id: record.id, disposition: 'attachment' }, `/api/s3/file?id=${record.id}&disposition=attachment`],
    [record, '/api/s3/file?key=a+b%2F%C3%BC%2B%26%3D%3F%23%25.png&bucket=files'],
  ] as const)('returns the address of %j', (object, address) => {
    expect(api.fileURL(object)).toBe(address)
    expect(fetch).not.toHaveBeenCalled()
  })

  it.each([{}, { bucket: 'b' }, { key: '' }, { id: null }])('refuses %j, which names no object', (object) => {
    expect(() => api.fileURL(object as { key: string })).toThrow(TypeError)
    expect(() => api.fileURL(object as { key: string })).toThrow(/key, id strings/)
  })

  it('is below the base', () => {
    const options = { baseURL: 'https://files.example.com/', basePath: '/v1/', plugins: [] }
    expect(createS3Client(options).api.fileURL({ key: 'a' })).toBe('https://files.example.com/v1/file?key=a')
  })

  it('leads to the bytes', async () => {
    const { api: own, fetch: request } = startClient()
    const object = await own.upload(new File(['hello'], 'größe.txt', { type: 'text/plain' }))
    for (const named of [object, { id: object.id }]) {
      const { status, headers } = await request(own.fileURL(named), { headers: { 'x-user': 'ada' } })
      expect(status).toBe(302)
      const { href } = new URL(headers.get('location')!, own.fileURL(named))
      expect(await bytesAt(request, href)).toBe('hello')
    }
  })
})
