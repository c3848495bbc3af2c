/** Objects of two accounts. */
export const objectsOfTwo = [
  { scope: 'user:ann', bucket: 'files', key: 'ann.txt' },
  { scope: 'user:bob', bucket: 'files', key: 'bob.txt' },
]

/** Lists the keys of the caller that the headers identify. Returns the status instead if it isn't 200. */
export async function keysFor(url: string, headers: Record<string, string>) {
  const response = await fetch(`${url}/api/s3/db/objects`, { headers })
  if (response.status !== 200) return response.status
  return ((await response.json()) as { objects: { key: string }[] }).objects.map(({ key }) => key)
}

/** Returns the cookies that a response sets, as a `Cookie` header. */
export function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0]!)
    .join('; ')
}
