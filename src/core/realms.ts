type BuiltIns = Pick<typeof globalThis, 'Date' | 'Uint8Array' | 'ArrayBuffer' | 'Error'>

/** Unlike `instanceof`, recognizes values of other realms, as jest has them, and dates of a class that fake timers replaced. */
export function isBuiltIn<Name extends keyof BuiltIns>(
  value: unknown,
  name: Name,
): value is InstanceType<BuiltIns[Name]> {
  return Object.prototype.toString.call(value) === `[object ${name}]`
}

/** Returns whether a thrown value is an error of this name, such as `RangeError`, of any realm. */
export function isErrorNamed(thrown: unknown, name: string): boolean {
  return (thrown as Partial<Error> | null | undefined)?.name === name
}
