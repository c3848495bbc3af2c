/** Returns whether a value is a date of any realm: in jest, the test and the driver may have two classes. */
export function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]'
}
