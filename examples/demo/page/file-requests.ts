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

/** Changes the name under which a file is shown and saved. Returns the name that the server stored. */
export async function rename(id: string, filename: string): Promise<string> {
  const renamed = (await ownRequest('PUT', '/filename', { body: { id, filename } })) as { filename: string }
  return renamed.filename
}
