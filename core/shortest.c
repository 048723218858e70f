/* SPDX-License-Identifier: MIT */
/* The shortest decimal of a double (core/shortest.h).
 *
 * Schubfach: R. Giulietti, "The Schubfach way to render doubles", 2020, sections 8 and 9;
 * the names follow A. Bolz's rendering of it (github.com/abolz/Drachennest). A double is
 * c * 2^q, and all decimals nearer to it than to its neighbours lie in one interval. Scaled
 * by 10^-k, with k chosen so that the interval is between 2 and 20 wide, at most four
 * integers need to be looked at. The scaling keeps what was cut off in the lowest bit,
 * which decides every comparison as exact arithmetic would.
 *
 *  1. Powers of ten are rounded up to 128 bits: the proof of section 9.9 asks for no more.
 *  2. Only those are kept that doubles from 1e-30 to 1e30 need: a kilobyte in place of ten.
 *     Metrics, draws and times lie there; the others go the slow way. */
#include "core/shortest.h"

#include <string.h>

enum { LEAST_POWER = -14, GREATEST_POWER = 46, MANTISSA_BITS = 52, BIAS = 1075 };

/* 10^i * 2^-r, rounded up, with r such that the highest of 128 bits is set. */
static const struct power {
    uint64_t high, low;
} power_of_ten[] = {
    { UINT64_C(0xb424dc35095cd80f), UINT64_C(0x538484c19ef38c95) },
    { UINT64_C(0xe12e13424bb40e13), UINT64_C(0x2865a5f206b06fba) },
    { UINT64_C(0x8cbccc096f5088cb), UINT64_C(0xf93f87b7442e45d4) },
    { UINT64_C(0xafebff0bcb24aafe), UINT64_C(0xf78f69a51539d749) },
    { UINT64_C(0xdbe6fecebdedd5be), UINT64_C(0xb573440e5a884d1c) },
    { UINT64_C(0x89705f4136b4a597), UINT64_C(0x31680a88f8953031) },
    { UINT64_C(0xabcc77118461cefc), UINT64_C(0xfdc20d2b36ba7c3e) },
    { UINT64_C(0xd6bf94d5e57a42bc), UINT64_C(0x3d32907604691b4d) },
    { UINT64_C(0x8637bd05af6c69b5), UINT64_C(0xa63f9a49c2c1b110) },
    { UINT64_C(0xa7c5ac471b478423), UINT64_C(0x0fcf80dc33721d54) },
    { UINT64_C(0xd1b71758e219652b), UINT64_C(0xd3c36113404ea4a9) },
    { UINT64_C(0x83126e978d4fdf3b), UINT64_C(0x645a1cac083126ea) },
    { UINT64_C(0xa3d70a3d70a3d70a), UINT64_C(0x3d70a3d70a3d70a4) },
    { UINT64_C(0xcccccccccccccccc), UINT64_C(0xcccccccccccccccd) },
    { UINT64_C(0x8000000000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xa000000000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xc800000000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xfa00000000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0x9c40000000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xc350000000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xf424000000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0x9896800000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xbebc200000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xee6b280000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0x9502f90000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xba43b74000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xe8d4a51000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0x9184e72a00000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xb5e620f480000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xe35fa931a0000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0x8e1bc9bf04000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xb1a2bc2ec5000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xde0b6b3a76400000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0x8ac7230489e80000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xad78ebc5ac620000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xd8d726b7177a8000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0x878678326eac9000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xa968163f0a57b400), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xd3c21bcecceda100), UINT64_C(0x0000000000000000) },
    { UINT64_C(0x84595161401484a0), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xa56fa5b99019a5c8), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xcecb8f27f4200f3a), UINT64_C(0x0000000000000000) },
    { UINT64_C(0x813f3978f8940984), UINT64_C(0x4000000000000000) },
    { UINT64_C(0xa18f07d736b90be5), UINT64_C(0x5000000000000000) },
    { UINT64_C(0xc9f2c9cd04674ede), UINT64_C(0xa400000000000000) },
    { UINT64_C(0xfc6f7c4045812296), UINT64_C(0x4d00000000000000) },
    { UINT64_C(0x9dc5ada82b70b59d), UINT64_C(0xf020000000000000) },
    { UINT64_C(0xc5371912364ce305), UINT64_C(0x6c28000000000000) },
    { UINT64_C(0xf684df56c3e01bc6), UINT64_C(0xc732000000000000) },
    { UINT64_C(0x9a130b963a6c115c), UINT64_C(0x3c7f400000000000) },
    { UINT64_C(0xc097ce7bc90715b3), UINT64_C(0x4b9f100000000000) },
    { UINT64_C(0xf0bdc21abb48db20), UINT64_C(0x1e86d40000000000) },
    { UINT64_C(0x96769950b50d88f4), UINT64_C(0x1314448000000000) },
    { UINT64_C(0xbc143fa4e250eb31), UINT64_C(0x17d955a000000000) },
    { UINT64_C(0xeb194f8e1ae525fd), UINT64_C(0x5dcfab0800000000) },
    { UINT64_C(0x92efd1b8d0cf37be), UINT64_C(0x5aa1cae500000000) },
    { UINT64_C(0xb7abc627050305ad), UINT64_C(0xf14a3d9e40000000) },
    { UINT64_C(0xe596b7b0c643c719), UINT64_C(0x6d9ccd05d0000000) },
    { UINT64_C(0x8f7e32ce7bea5c6f), UINT64_C(0xe4820023a2000000) },
    { UINT64_C(0xb35dbf821ae4f38b), UINT64_C(0xdda2802c8a800000) },
    { UINT64_C(0xe0352f62a19e306e), UINT64_C(0xd50b2037ad200000) },
};

/* floor(log2(10^e)) and floor(log10(2^e)), of 3/4 * 2^e where the gap below is half as
 * wide; both hold for every exponent of a double. */
static int32_t log2_of_power_of_ten(int32_t e)
{
    return (e * 1741647) >> 19;
}

static int32_t log10_of_power_of_two(int32_t e, bool three_quarters)
{
    return (e * 1262611 - (three_quarters ? 524031 : 0)) >> 22;
}

/* The upper 64 bits of g * c / 2^64, with its lowest bit set if anything was cut off. */
static uint64_t scale(struct power g, uint64_t c)
{
    uint64_t below = (uint64_t)((unsigned __int128)g.low * c >> 64);
    unsigned __int128 sum = (unsigned __int128)g.high * c + below;
    return (uint64_t)(sum >> 64) | ((uint64_t)sum > 1);
}

/* c * 2^q, whose neighbour below is half as far as the one above where `closer`. */
static bool choose(uint64_t c, int32_t q, bool closer, struct adp_decimal *ret)
{
    int32_t k = log10_of_power_of_two(q, closer);
    if (-k < LEAST_POWER || -k > GREATEST_POWER)
        return false;
    int32_t shift = q + log2_of_power_of_ten(-k) + 1;
    struct power g = power_of_ten[-k - LEAST_POWER];
    uint64_t lower = scale(g, (4 * c - 2 + closer) << shift); /* in quarters */
    uint64_t exact = scale(g, (4 * c) << shift);
    uint64_t upper = scale(g, (4 * c + 2) << shift);
    lower += c & 1; /* ties go to the even mantissa: the ends belong to it */
    upper -= c & 1;

    uint64_t s = exact / 4, tens = s / 10;
    if (s >= 10) { /* a digit less, if just one of the two is inside */
        bool down = lower <= 40 * tens, up = 40 * tens + 40 <= upper;
        if (down != up) {
            *ret = (struct adp_decimal) { tens + up, k + 1 };
            return true;
        }
    }
    bool down = lower <= 4 * s, up = 4 * s + 4 <= upper;
    if (down == up) /* both or none: the nearer one, the even one of two */
        up = exact > 4 * s + 2 || (exact == 4 * s + 2 && (s & 1));
    *ret = (struct adp_decimal) { s + up, k };
    return true;
}

bool adp_shortest(double value, struct adp_decimal *ret)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t fraction = bits & ((UINT64_C(1) << MANTISSA_BITS) - 1);
    int32_t exponent = (int32_t)(bits >> MANTISSA_BITS & 0x7ff);
    if (exponent == 0 || exponent == 0x7ff) /* zero, subnormal, not finite */
        return false;
    if (!choose(fraction | UINT64_C(1) << MANTISSA_BITS, exponent - BIAS,
                fraction == 0 && exponent > 1, ret))
        return false;
    while (ret->digits % 10 == 0) {
        ret->digits /= 10;
        ret->exponent++;
    }
    return true;
}
