interface BuiltIns {
  readonly Date: Date
  readonly Uint8Array: Uint8Array
  readonly ArrayBuffer: ArrayBuffer
  readonly Error: Error
}

/**
 * Returns whether a value is of a class of the language. Unlike `instanceof`, also recognizes values of other realms: those of
 * frames and of `node:vm`, in which jest runs tests, and dates from before fake timers replaced the class.
 */
export function isBuiltIn<Name extends keyof BuiltIns>(value: unknown, name: Name): value is BuiltIns[Name] {
  return Object.prototype.toString.call(value) === `[object ${name}]`
}

/** Returns whether a thrown value is an error of this name, such as `RangeError`, of any realm. */
export function isErrorNamed(thrown: unknown, name: string): boolean {
  return (thrown as Partial<Error> | null | undefined)?.name === name
}
