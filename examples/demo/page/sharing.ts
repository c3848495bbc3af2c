/** Returns the ids of the signed-in user's shared files. */
export async function sharedIds(signal: AbortSignal): Promise<ReadonlySet<string>> {
  const response = await fetch('/shared', { signal })
  if (!response.ok) throw new Error(`GET /shared returned ${response.status}`)
  const { ids } = (await response.json()) as { ids: readonly string[] }
  return new Set(ids)
}

/** Lets every signed-in user open a file by its link, or stops that. */
export async function share(id: string, shared: boolean): Promise<void> {
  const response = await fetch('/shared', {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, shared }),
  })
  if (!response.ok) throw new Error(`PUT /shared returned ${response.status}`)
}
