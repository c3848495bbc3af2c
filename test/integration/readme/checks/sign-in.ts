/** The header by which most snippets identify the caller. */
export const signedInAs = (scope: string) => ({ 'x-signed-in-as': scope })
