// bcryptprimitives.dll as far as programs in Go need it. Wine 8 has none, and they end at once without ProcessPrng.

#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T n)
{
	while (n > 0) {
		ULONG part = n < 1 << 20 ? (ULONG)n : 1 << 20;

		if (!SystemFunction036(data, part))
			return FALSE;
		data += part;
		n -= part;
	}
	return TRUE;
}
