const PLAIN = /^[\w@%+=:,./-]+$/
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/** Returns a text as one argument of a command for a POSIX shell. Unprintable characters become escapes, which bash and zsh know. */
export function shellQuoted(text: string): string {
  if (PLAIN.test(text)) return text
  if (!UNPRINTABLE.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`
  const characters = Array.from(text, (character) =>
    UNPRINTABLE.test(character)
      ? [...new TextEncoder().encode(character)]
          .map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`)
          .join('')
      : character.replace(/['\\]/, '\\$&'),
  )
  return `$'${characters.join('')}'`
}
