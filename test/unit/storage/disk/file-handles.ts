import { open, type FileHandle } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'

type Method = 'read' | 'stat' | 'sync' | 'writeFile'

interface FileCall {
  readonly args: readonly unknown[]
  /** The original method. */
  readonly act: (...args: readonly unknown[]) => Promise<unknown>
}

/** The prototype of all file handles. */
const prototype = await (async () => {
  const file = await open(fileURLToPath(import.meta.url), 'r')
  await file.close()
  return Object.getPrototypeOf(file) as FileHandle
})()

/** Replaces a method of every file in this process, to simulate a failing disk. Undone when mocks are restored. */
export function onEveryFile(method: Method, instead: (call: FileCall) => Promise<unknown>): void {
  const original = Reflect.get(prototype, method) as (...args: readonly unknown[]) => Promise<unknown>
  vi.spyOn(prototype, method).mockImplementation(function (this: FileHandle, ...args: readonly unknown[]) {
    return instead({ args, act: (...given) => Reflect.apply(original, this, given) })
  } as never)
}

/** Records the calls of a method of every file in this process. */
export function watchEveryFile(method: Method) {
  const spy = vi.spyOn(prototype, method)
  return {
    calls: () => spy.mock.calls as readonly (readonly unknown[])[],
    /** Returns the current descriptors of these files; -1 for a closed file. */
    descriptors: () => (spy.mock.contexts as unknown as FileHandle[]).map(({ fd }) => fd),
    forget: () => void spy.mockClear(),
  }
}

/** Builds an error like those of Node.js for a refused system call. */
export function refusal(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: refused`), { code })
}
