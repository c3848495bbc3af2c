/** For tests of who asks: objects of two accounts, and a caller of the list. */
export const objectsOfTwo = [
  { scope: 'user:ann', bucket: 'files', key: 'ann.txt' },
  { scope: 'user:bob', bucket: 'files', key: 'bob.txt' },
]

/** The keys that are listed for whoever sends these headers; the status where it is none. */
export async function keysFor(url: string, headers: Record<string, string>) {
  const response = await fetch(`${url}/api/s3/db/objects`, { headers })
  if (response.status !== 200) return response.status
  return ((await response.json()) as { objects: { key: string }[] }).objects.map(({ key }) => key)
}

/** The cookies that an answer sets, as a browser sends them back. */
export function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0]!)
    .join('; ')
}
