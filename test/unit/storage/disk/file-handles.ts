import { open, type FileHandle } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'

type Method = 'read' | 'stat' | 'sync' | 'writeFile'

interface FileCall {
  readonly args: readonly unknown[]
  /** What the file does by itself. */
  readonly act: (...args: readonly unknown[]) => Promise<unknown>
}

/** What all open files share. */
const prototype = await (async () => {
  const file = await open(fileURLToPath(import.meta.url), 'r')
  await file.close()
  return Object.getPrototypeOf(file) as FileHandle
})()

/** Has every file of this process do something else, as a disk that fails; until mocks are restored. */
export function onEveryFile(method: Method, instead: (call: FileCall) => Promise<unknown>): void {
  const original = Reflect.get(prototype, method) as (...args: readonly unknown[]) => Promise<unknown>
  vi.spyOn(prototype, method).mockImplementation(function (this: FileHandle, ...args: readonly unknown[]) {
    return instead({ args, act: (...given) => Reflect.apply(original, this, given) })
  } as never)
}

/** Listens to a method of every file of this process. */
export function watchEveryFile(method: Method) {
  const spy = vi.spyOn(prototype, method)
  return {
    calls: () => spy.mock.calls as readonly (readonly unknown[])[],
    /** The descriptors now of the files that were called; -1 for a closed one. */
    descriptors: () => (spy.mock.contexts as unknown as FileHandle[]).map(({ fd }) => fd),
    forget: () => void spy.mockClear(),
  }
}

/** As Node tells of a call that the operating system refused. */
export function refusal(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: refused`), { code })
}
