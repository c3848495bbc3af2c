// What the page runs: uploads by the client, the same by hand, and the digest of one part.
import { createS3Client } from '@svc/db/client'
import { digestOf } from '../../src/client/upload/read.ts'
import { median } from '../ratios.mjs'

const { api } = createS3Client({ plugins: [] })
const chosen = () => document.querySelector('input').files[0]

window.upload = async () => void (await api.upload(chosen()))
window.uploadByHand = () => uploadByHand(chosen())
window.uploadMany = uploadMany
window.longestTask = longestTask
window.digestMilliseconds = digestMilliseconds

/** Uploads a file in parts, four at once. Can't be resumed, and neither compares nor keeps anything. */
async function uploadByHand(file) {
  const { object, uploadId, partSize } = await post('/multipart', { size: file.size })
  const numbers = Array.from({ length: Math.ceil(file.size / partSize) }, (_, index) => index + 1)
  const work = async () => {
    while (numbers.length > 0) {
      const number = numbers.shift()
      const { parts } = await post('/multipart/parts', { uploadId, partNumbers: [number] })
      await put(parts[0].url, file.slice((number - 1) * partSize, number * partSize))
    }
  }
  await Promise.all([work(), work(), work(), work()])
  await post('/multipart/complete', { key: object.key, uploadId })
}

async function post(path, body) {
  const response = await fetch(`/api/s3${path}`, { method: 'POST', body: JSON.stringify(body) })
  return response.json()
}

function put(url, body) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('PUT', url)
    request.onload = resolve
    request.onerror = reject
    request.send(body)
  })
}

/** Starts small uploads, all at once. */
async function uploadMany(count) {
  const files = Array.from({ length: count }, (_, index) => new File(['x'], `${index}.txt`))
  await Promise.all(files.map((file) => api.upload(file)))
}

/** Returns the milliseconds of the longest task of the page while `work` runs, or 0 if none took 50. */
async function longestTask(work) {
  let longest = 0
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longest = Math.max(longest, duration)
  })
  observer.observe({ type: 'longtask' })
  await window[work]()
  // The browser tells of a task after its end.
  await new Promise((resolve) => setTimeout(resolve, 1000))
  observer.disconnect()
  return longest
}

/** Returns how long the digest of a part in memory takes, beyond reading it: the median of many. */
async function digestMilliseconds(size, rounds) {
  const part = new Blob([new Uint8Array(size)])
  const { signal } = new AbortController()
  const times = []
  for (let round = 0; round < rounds; round++) {
    const start = performance.now()
    await part.arrayBuffer()
    const read = performance.now()
    await digestOf(part, signal)
    times.push(performance.now() - read - (read - start))
  }
  return median(times)
}
