import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of a program on this machine: on PATH, or in one of these folders besides. */
export function installedProgram(name: string, usualPlaces: readonly string[] = []): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...usualPlaces]
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
