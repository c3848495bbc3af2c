import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Returns the path of a program on PATH or in one of these folders; `null` if there is none. */
export function installedProgram(name: string, moreFolders: readonly string[] = []): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...moreFolders]
  return folders.map((folder) => join(folder, name)).find(isProgram) ?? null
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
