import { ownRequest } from './requests.js'

/** Returns the ids of the signed-in user's shared files. */
export async function sharedIds(signal: AbortSignal): Promise<ReadonlySet<string>> {
  const { ids } = (await ownRequest('GET', '/shared', { signal })) as { ids: readonly string[] }
  return new Set(ids)
}

/** Lets every signed-in user open a file by its link, or stops that. */
export async function share(id: string, shared: boolean): Promise<void> {
  await ownRequest('PUT', '/shared', { body: { id, shared } })
}
