/** Decodes a key of a listing, in which S3 encodes a space as `+`. */
export function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
